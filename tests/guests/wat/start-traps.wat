;; Traps before it is an instance.
;; body
(func $break (unreachable))
(start $break)
