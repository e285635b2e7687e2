// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
// Test stand-in for the upto Permit2 proxy: same selectors, witness type and reverts as documented.
interface IP2 {
    struct TokenPermissions { address token; uint256 amount; }
    struct PermitTransferFrom { TokenPermissions permitted; uint256 nonce; uint256 deadline; }
    struct SignatureTransferDetails { address to; uint256 requestedAmount; }
    function permitWitnessTransferFrom(PermitTransferFrom calldata, SignatureTransferDetails calldata, address, bytes32, string calldata, bytes calldata) external;
}
interface IPermit { function permit(address, address, uint256, uint256, uint8, bytes32, bytes32) external; }
contract MiniUptoProxy {
    IP2 public constant PERMIT2 = IP2(0x000000000022D473030F116dDEE9F6B43aC78BA3);
    string public constant WITNESS_TYPE_STRING = "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,address facilitator,uint256 validAfter)";
    bytes32 public constant WITNESS_TYPEHASH = keccak256("Witness(address to,address facilitator,uint256 validAfter)");
    struct Witness { address to; address facilitator; uint256 validAfter; }
    struct EIP2612Permit { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }
    error UnauthorizedFacilitator(); error AmountExceedsPermitted(); error InvalidAmount(); error InvalidOwner();
    error InvalidDestination(); error PaymentTooEarly(); error Permit2612AmountMismatch();
    event Settled(); event SettledWithPermit();
    function settle(IP2.PermitTransferFrom calldata p, uint256 amount, address owner, Witness calldata w, bytes calldata sig) external { _go(p, amount, owner, w, sig); emit Settled(); }
    function settleWithPermit(EIP2612Permit calldata e, IP2.PermitTransferFrom calldata p, uint256 amount, address owner, Witness calldata w, bytes calldata sig) external {
        if (amount > p.permitted.amount) revert AmountExceedsPermitted();
        if (msg.sender != w.facilitator) revert UnauthorizedFacilitator();
        if (e.value != p.permitted.amount) revert Permit2612AmountMismatch();
        try IPermit(p.permitted.token).permit(owner, address(PERMIT2), e.value, e.deadline, e.v, e.r, e.s) {} catch {}
        _go(p, amount, owner, w, sig); emit SettledWithPermit();
    }
    function _go(IP2.PermitTransferFrom calldata p, uint256 amount, address owner, Witness calldata w, bytes calldata sig) internal {
        if (amount > p.permitted.amount) revert AmountExceedsPermitted();
        if (msg.sender != w.facilitator) revert UnauthorizedFacilitator();
        if (amount == 0) revert InvalidAmount();
        if (owner == address(0)) revert InvalidOwner();
        if (w.to == address(0)) revert InvalidDestination();
        if (block.timestamp < w.validAfter) revert PaymentTooEarly();
        PERMIT2.permitWitnessTransferFrom(p, IP2.SignatureTransferDetails(w.to, amount), owner, keccak256(abi.encode(WITNESS_TYPEHASH, w.to, w.facilitator, w.validAfter)), WITNESS_TYPE_STRING, sig);
    }
}
