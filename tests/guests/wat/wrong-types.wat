;; A whole component that exports the right names with wrong types.
(component
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (instance $handler (export "add" (func $f)) (export "update" (func $f)) (export "delete" (func $f)))
  (instance $setup (export "validate-config" (func $f)) (export "describe" (func $f)))
  (export "wharf:plugin/handler@0.1.0" (instance $handler))
  (export "wharf:plugin/setup@0.1.0" (instance $setup)))
