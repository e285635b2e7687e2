// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
// Test stand-in for the views of the registries of ERC-8004: agents by number, and their reviews.
contract MiniRegistry {
    mapping(uint256 => address) public owners;
    mapping(uint256 => uint64) public reviews;
    function set(uint256 id, address owner, uint64 count) external { owners[id] = owner; reviews[id] = count; }
    function ownerOf(uint256 id) external view returns (address) { require(owners[id] != address(0), "no such agent"); return owners[id]; }
    function getAgentWallet(uint256) external pure returns (address) { return address(0); }
    function isAuthorizedOrOwner(address who, uint256 id) external view returns (bool) { return owners[id] == who; }
    function getSummary(uint256 id, address[] calldata clients, string calldata, string calldata) external view returns (uint64, int128, uint8) {
        require(clients.length > 0, "clientAddresses required");
        return (reviews[id], 100, 0);
    }
}
