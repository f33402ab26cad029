;; Logs a line of 8 MiB.
(import "wharf:plugin/log@0.1.0" "emit" (func $emit (param i32 i32 i32 i32 i32)))
;; body
(func $add (param $d i32) (result i32)
  (drop (memory.grow (i32.const 130)))
  (memory.fill (i32.const 65536) (i32.const 120) (i32.const 8388608))
  (call $emit (i32.const 2) (i32.const 65536) (i32.const 8388608) (i32.const 0) (i32.const 0))
  (call $done))
