;; Calls itself without end.
;; body
(func $deeper (param $n i32) (result i32) (i32.add (call $deeper (i32.add (local.get $n) (i32.const 1))) (local.get $n)))
(func $add (param $d i32) (result i32) (drop (call $deeper (i32.const 0))) (call $done))
