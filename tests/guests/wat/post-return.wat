;; Has answered, and goes on: `add` for ever, `update` with a trap, `delete` with a call of the host.
(import "wharf:plugin/log@0.1.0" "emit" (func $emit (param i32 i32 i32 i32 i32)))
;; body
(func (export "cabi_post_wharf:plugin/handler@0.1.0#add") (param i32) (loop $again (br $again)))
(func (export "cabi_post_wharf:plugin/handler@0.1.0#update") (param i32) (unreachable))
(func (export "cabi_post_wharf:plugin/handler@0.1.0#delete") (param i32)
  (call $emit (i32.const 2) (i32.const 1000) (i32.const 2) (i32.const 0) (i32.const 0)))
