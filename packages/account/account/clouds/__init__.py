"""One package per cloud with the same modules: what its accounts are asked, and the rights of who deploys."""
