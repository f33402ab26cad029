;; Done if /data/a changed and /data/b did not; /none is no change, "x" is no pointer and
;; counts as changed.
(import "wharf:plugin/event@0.1.0" "changed" (func $changed (param i32 i32 i32)))
;; body
(data (i32.const 1024) "/data/a/data/b/nonex")
(data (i32.const 1056) "\00\04\00\00\07\00\00\00\07\04\00\00\07\00\00\00\0e\04\00\00\05\00\00\00\13\04\00\00\01\00\00\00")
(func $update (param $d i32) (result i32)
  (call $changed (i32.const 1056) (i32.const 4) (i32.const 64))
  (if (i32.ne (i32.load (i32.load (i32.const 64))) (i32.const 0x01000001)) (then unreachable))
  (call $done))
