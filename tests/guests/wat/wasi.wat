;; A guest of a toolchain that writes to stdout. `add` writes two lines and a half; `update`
;; takes handles of stdout and gives none back.
(import "wasi:cli/stdout@0.2.3" "get-stdout" (func $stdout (result i32)))
(import "wasi:io/streams@0.2.3" "[method]output-stream.blocking-write-and-flush" (func $write (param i32 i32 i32 i32)))
;; body
(data (i32.const 1024) "one\0atwo \1b\0ahalf")
(func $add (param $d i32) (result i32)
  (call $write (call $stdout) (i32.const 1024) (i32.const 14) (i32.const 64))
  (call $done))
(func $update (param $d i32) (result i32)
  (loop $again (drop (call $stdout)) (br $again))
  (unreachable))
