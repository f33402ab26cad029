;; Traps, two calls deep.
;; body
(func $divide_by_zero (result i32) (i32.div_u (i32.const 1) (i32.const 0)))
(func $reconcile (result i32) (i32.add (call $divide_by_zero) (i32.const 1)))
(func $add (param $d i32) (result i32) (drop (call $reconcile)) (call $done))
