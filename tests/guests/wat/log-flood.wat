;; Logs 1000 lines: one longer than a line may be, with a newline that would fake a line, and
;; 999 short ones.
(import "wharf:plugin/log@0.1.0" "emit" (func $emit (param i32 i32 i32 i32 i32)))
;; body
(func $add (param $d i32) (result i32)
  (local $n i32)
  (memory.fill (i32.const 8192) (i32.const 120) (i32.const 6000))
  (i32.store8 (i32.const 8193) (i32.const 10))
  (call $emit (i32.const 2) (i32.const 8192) (i32.const 6000) (i32.const 0) (i32.const 0))
  (loop $again
    (call $emit (i32.const 2) (i32.const 8192) (i32.const 1) (i32.const 0) (i32.const 0))
    (local.set $n (i32.add (local.get $n) (i32.const 1)))
    (br_if $again (i32.lt_u (local.get $n) (i32.const 999))))
  (call $done))
