// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
// Test stand-in for the witness-transfer part of Permit2 (unordered nonces, domain without version).
interface IERC20m { function transferFrom(address, address, uint256) external returns (bool); }
interface I1271p { function isValidSignature(bytes32, bytes calldata) external view returns (bytes4); }
contract MiniPermit2 {
    struct TokenPermissions { address token; uint256 amount; }
    struct PermitTransferFrom { TokenPermissions permitted; uint256 nonce; uint256 deadline; }
    struct SignatureTransferDetails { address to; uint256 requestedAmount; }
    error SignatureExpired(uint256 signatureDeadline); error InvalidAmount(uint256 maxAmount); error InvalidNonce();
    error InvalidSigner(); error InvalidSignatureLength(); error InvalidContractSignature();
    mapping(address => mapping(uint256 => uint256)) public nonceBitmap;
    bytes32 constant TP = keccak256("TokenPermissions(address token,uint256 amount)");
    string constant STUB = "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,";
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(abi.encode(keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)"), keccak256("Permit2"), block.chainid, address(this)));
    }
    function permitWitnessTransferFrom(PermitTransferFrom calldata p, SignatureTransferDetails calldata d, address owner, bytes32 witness, string calldata witnessTypeString, bytes calldata sig) external {
        if (block.timestamp > p.deadline) revert SignatureExpired(p.deadline);
        if (d.requestedAmount > p.permitted.amount) revert InvalidAmount(p.permitted.amount);
        uint256 w = uint256(uint248(p.nonce >> 8)); uint256 bit = 1 << uint8(p.nonce);
        uint256 flipped = nonceBitmap[owner][w] ^= bit; if (flipped & bit == 0) revert InvalidNonce();
        bytes32 th = keccak256(abi.encodePacked(STUB, witnessTypeString));
        bytes32 sh = keccak256(abi.encode(th, keccak256(abi.encode(TP, p.permitted.token, p.permitted.amount)), msg.sender, p.nonce, p.deadline, witness));
        bytes32 h = keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), sh));
        if (owner.code.length == 0) {
            if (sig.length != 65) revert InvalidSignatureLength();
            if (ecrecover(h, uint8(sig[64]), bytes32(sig[0:32]), bytes32(sig[32:64])) != owner || owner == address(0)) revert InvalidSigner();
        } else if (I1271p(owner).isValidSignature(h, sig) != 0x1626ba7e) revert InvalidContractSignature();
        require(IERC20m(p.permitted.token).transferFrom(owner, d.to, d.requestedAmount), "TRANSFER_FROM_FAILED");
    }
}
