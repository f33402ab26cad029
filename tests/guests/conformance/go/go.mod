module github.com/wharf-dev/wharf/tests/guests/conformance/go

go 1.26

require github.com/wharf-dev/wharf/sdk/go v0.1.0

replace github.com/wharf-dev/wharf/sdk/go => ../../../../sdk/go
