"""One module per command-line agent: how it is started and what its work must leave behind."""
