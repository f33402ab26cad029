;; A whole component that imports what no host of wharf has, and something that needs a grant.
(component
  (import "acme:secrets/vault@1.2.0" (instance))
  (import "wasi:http/outgoing-handler@0.2.0" (instance))
  (import "wharf:plugin/cluster@0.1.0" (instance)))
