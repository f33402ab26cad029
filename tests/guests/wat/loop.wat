;; Never comes back.
;; body
(func $add (param $d i32) (result i32) (loop $again (br $again)) (unreachable))
