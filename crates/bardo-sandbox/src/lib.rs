//! Simulated providers: the real wire formats of the services that the gateway talks to.
