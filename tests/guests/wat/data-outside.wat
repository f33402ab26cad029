;; Has contents for memory that it does not have.
;; body
(data (i32.const 0x7fffffff) "x")
