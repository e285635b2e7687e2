//! The pages. Each is a struct of plain values with its template.

mod accounts;
mod build;
mod cache;
mod error;
mod golems;
mod keys;
mod login;
mod overview;
mod payments;
mod providers;
mod requests;
mod routing;
mod settings;
mod venice;

pub use accounts::{AccountListPage, AccountPage};
pub use build::{ConnectPage, ConnectTool, PlaygroundPage, Snippet};
pub use cache::CachePage;
pub use error::ErrorPage;
pub use golems::{GolemPage, GolemsPage};
pub use keys::{KeyMadePage, KeyPage, KeysPage};
pub use login::LoginPage;
pub use overview::OverviewPage;
pub use payments::{PaymentPage, PaymentsPage};
pub use providers::{ModelsPage, ProviderPage, ProvidersPage};
pub use requests::{FilterField, RequestsPage, TimelinePage, TimelineStep};
pub use routing::RoutingPage;
pub use settings::SettingsPage;
pub use venice::VenicePage;
