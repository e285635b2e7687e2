use askama::Template;

use crate::Shell;
use crate::parts::{FactList, PageTable, Tab, Tile};

/// Payments of callers on a chain: sums, the chain, each payment, wallets.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/payments.html")]
pub struct PaymentsPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Whether requests are for sale.
    pub is_open: bool,
    /// Stages to choose from.
    pub stages: Vec<Tab>,
    /// Sums over all payments.
    pub tiles: Vec<Tile>,
    /// The accounts and endpoints of the chain.
    pub facts: FactList,
    /// A row per payment, the newest first.
    pub payments: PageTable,
    /// A row per wallet.
    pub wallets: PageTable,
}

/// One payment, from its signature to the books.
#[derive(Debug, Clone, Template)]
#[template(path = "pages/payment.html")]
pub struct PaymentPage<'a> {
    /// What surrounds the page.
    pub shell: &'a Shell,
    /// Address of the page.
    pub here: String,
    /// Amounts of the payment.
    pub tiles: Vec<Tile>,
    /// Its wallet, its request and its state.
    pub facts: FactList,
    /// Transactions that may settle it, oldest first.
    pub transactions: PageTable,
    /// Whether it is a debt that can be written off.
    pub is_debt: bool,
}
