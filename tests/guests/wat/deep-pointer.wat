;; Looks for a value 2048 levels down.
(import "wharf:plugin/event@0.1.0" "get" (func $get (param i32 i32 i32 i32)))
;; body
(func $add (param $d i32) (result i32)
  (local $at i32)
  (global.set $heap (i32.const 16384))
  (local.set $at (i32.const 8192))
  (loop $again
    (i32.store16 (local.get $at) (i32.const 0x612f))
    (local.set $at (i32.add (local.get $at) (i32.const 2)))
    (br_if $again (i32.lt_u (local.get $at) (i32.const 12288))))
  (call $get (i32.const 0) (i32.const 8192) (i32.const 4096) (i32.const 64))
  (call $done))
