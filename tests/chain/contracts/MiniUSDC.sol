// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
// Test stand-in for USDC v2.2: ERC-20 + EIP-3009 + EIP-2612, with ERC-1271 payers.
interface I1271 { function isValidSignature(bytes32, bytes calldata) external view returns (bytes4); }
contract MiniUSDC {
    string public name; string public constant symbol = "USDC"; string public constant version = "2";
    uint8 public constant decimals = 6; uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => uint256) public nonces;
    mapping(address => mapping(bytes32 => bool)) public authorizationState;
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);
    bytes32 constant DOMAIN = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256("TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)");
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256("ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)");
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");
    bytes32 public constant PERMIT_TYPEHASH = keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    constructor(string memory n) { name = n; }
    function init(string calldata n) external { require(bytes(name).length == 0); name = n; }
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN, keccak256(bytes(name)), keccak256(bytes(version)), block.chainid, address(this)));
    }
    function mint(address to, uint256 v) external { balanceOf[to] += v; totalSupply += v; emit Transfer(address(0), to, v); }
    function transfer(address to, uint256 v) external returns (bool) { _move(msg.sender, to, v); return true; }
    function approve(address s, uint256 v) external returns (bool) { allowance[msg.sender][s] = v; emit Approval(msg.sender, s, v); return true; }
    function transferFrom(address f, address t, uint256 v) external returns (bool) {
        uint256 a = allowance[f][msg.sender]; require(a >= v, "ERC20: transfer amount exceeds allowance");
        if (a != type(uint256).max) allowance[f][msg.sender] = a - v; _move(f, t, v); return true;
    }
    function permit(address o, address s, uint256 v, uint256 dl, uint8 vv, bytes32 r, bytes32 ss) external {
        require(dl >= block.timestamp, "FiatTokenV2: permit is expired");
        _check(o, keccak256(abi.encode(PERMIT_TYPEHASH, o, s, v, nonces[o]++, dl)), abi.encodePacked(r, ss, vv));
        allowance[o][s] = v; emit Approval(o, s, v);
    }
    function transferWithAuthorization(address f, address t, uint256 v, uint256 va, uint256 vb, bytes32 n, uint8 vv, bytes32 r, bytes32 s) external { _auth(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, f, t, v, va, vb, n, abi.encodePacked(r, s, vv)); }
    function transferWithAuthorization(address f, address t, uint256 v, uint256 va, uint256 vb, bytes32 n, bytes calldata sig) external { _auth(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, f, t, v, va, vb, n, sig); }
    function receiveWithAuthorization(address f, address t, uint256 v, uint256 va, uint256 vb, bytes32 n, bytes calldata sig) external { require(t == msg.sender, "FiatTokenV2: caller must be the payee"); _auth(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, f, t, v, va, vb, n, sig); }
    function cancelAuthorization(address a, bytes32 n, bytes calldata sig) external {
        require(!authorizationState[a][n], "FiatTokenV2: authorization is used or canceled");
        _check(a, keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, a, n)), sig);
        authorizationState[a][n] = true; emit AuthorizationCanceled(a, n);
    }
    function _auth(bytes32 th, address f, address t, uint256 v, uint256 va, uint256 vb, bytes32 n, bytes memory sig) internal {
        require(block.timestamp > va, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < vb, "FiatTokenV2: authorization is expired");
        require(!authorizationState[f][n], "FiatTokenV2: authorization is used or canceled");
        _check(f, keccak256(abi.encode(th, f, t, v, va, vb, n)), sig);
        authorizationState[f][n] = true; emit AuthorizationUsed(f, n); _move(f, t, v);
    }
    function _check(address who, bytes32 structHash, bytes memory sig) internal view {
        bytes32 d = keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), structHash));
        if (who.code.length == 0) {
            require(sig.length == 65, "ECRecover: invalid signature length");
            bytes32 r; bytes32 s; uint8 v; assembly { r := mload(add(sig, 32)) s := mload(add(sig, 64)) v := byte(0, mload(add(sig, 96))) }
            require(ecrecover(d, v, r, s) == who && who != address(0), "FiatTokenV2: invalid signature");
        } else require(I1271(who).isValidSignature(d, sig) == 0x1626ba7e, "FiatTokenV2: invalid signature");
    }
    function _move(address f, address t, uint256 v) internal {
        require(t != address(0), "ERC20: transfer to the zero address");
        require(balanceOf[f] >= v, "ERC20: transfer amount exceeds balance");
        unchecked { balanceOf[f] -= v; balanceOf[t] += v; } emit Transfer(f, t, v);
    }
}
