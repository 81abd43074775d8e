"""Services: how they are deployed, described, waited for, called and profiled."""
