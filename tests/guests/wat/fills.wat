;; Fills 60 MiB of memory with one instruction, again and again: nothing ends it in the middle of one.
;; body
(func $add (param $d i32) (result i32)
  (drop (memory.grow (i32.const 960)))
  (loop $again (memory.fill (i32.const 65536) (i32.const 1) (i32.const 62914560)) (br $again))
  (unreachable))
