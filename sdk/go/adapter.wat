;; WASI preview 1 for plugins in Go, on the host's own interfaces: the clock and the generator
;; are `wharf:plugin/system`, standard output and standard error become lines of
;; `wharf:plugin/log`. There are no files, arguments or variables.
;;
;; How it gets into a component: this text as a core module, with the world `adapter` of
;; adapter.wit embedded as its component type, is handed to the component encoder as the
;; adapter of the module `wasi_snapshot_preview1`.
;;
;; Two functions are no WASI; the Go SDK calls them:
;;   wharf_quiet(on)  from now on (or no more) the host must not be called: it waits for memory,
;;                    or cleans up. The clock then counts by itself, lines wait.
;;   wharf_flush()    a call ends: hands on what was written without a newline.
;;
;; Memory: Go's linker leaves the bytes from 4096 to 12287 of every WebAssembly module free for
;; arguments that a host writes before the start, which no component does. Here they are:
;;   4096  8 bytes   where the host writes a time, or a list's address and length
;;   4112  16 bytes  the fields of a log line: name and value, each an address and a length
;;   4128  24 bytes  the words "stream", "stdout", "stderr", 8 bytes each
;;   4160  4032      a line of standard output
;;   8192  4096      a line of standard error, or a frame of the stack
(module
  (import "wharf:plugin/system@0.1.0" "now" (func $now (param i32)))
  (import "wharf:plugin/system@0.1.0" "random" (func $random (param i32 i32)))
  (import "wharf:plugin/log@0.1.0" "emit" (func $emit (param i32 i32 i32 i32 i32)))
  (import "env" "memory" (memory 0))

  (global $quiet (mut i32) (i32.const 0))
  ;; The monotonic clock: never goes back, although the host's clock may.
  (global $last (mut i64) (i64.const 0))
  ;; Where random bytes go, and how many fit.
  (global $target (mut i32) (i32.const 0))
  (global $room (mut i32) (i32.const 0))
  ;; Bytes of the two lines.
  (global $out (mut i32) (i32.const 0))
  (global $err (mut i32) (i32.const 0))
  ;; Where the last line of standard error begins.
  (global $line (mut i32) (i32.const 0))
  ;; Not 0: Go's runtime says why it gives up; one more than the frames that are still wanted.
  (global $frames (mut i32) (i32.const 0))

  (func (export "wharf_quiet") (param $on i32) (global.set $quiet (local.get $on)))
  (func (export "wharf_flush") (call $flush_out) (call $flush_err))

  ;; --- Clock and generator ---

  ;; id 0: time of day, 1: monotonic. Both in nanoseconds.
  (func $clock (export "clock_time_get") (param $id i32) (param $precision i64) (param $to i32) (result i32)
    (local $t i64)
    (if (global.get $quiet)
      (then
        (global.set $last (i64.add (global.get $last) (i64.const 1000)))
        (i64.store (local.get $to) (global.get $last))
        (return (i32.const 0))))
    (call $now (i32.const 4096))
    (local.set $t (i64.add
      (i64.mul (i64.load32_u (i32.const 4096)) (i64.const 1000000000))
      (i64.load32_u (i32.const 4100))))
    (if (i64.gt_u (local.get $t) (global.get $last))
      (then (global.set $last (local.get $t)))
      (else (if (local.get $id) (then (local.set $t (global.get $last))))))
    (i64.store (local.get $to) (local.get $t))
    (i32.const 0))

  ;; The host writes the bytes to where they are wanted: see cabi_import_realloc.
  (func (export "random_get") (param $to i32) (param $n i32) (result i32)
    (local $got i32)
    (if (global.get $quiet) (then (return (i32.const 6)))) ;; EAGAIN
    (block $done
      (loop $more
        (br_if $done (i32.eqz (local.get $n)))
        (global.set $target (local.get $to))
        (global.set $room (local.get $n))
        (call $random (local.get $n) (i32.const 4096))
        (local.set $got (i32.load (i32.const 4100)))
        (if (i32.eqz (local.get $got)) (then (return (i32.const 29)))) ;; EIO
        (local.set $to (i32.add (local.get $to) (local.get $got)))
        (local.set $n (i32.sub (local.get $n) (local.get $got)))
        (br $more)))
    (i32.const 0))

  ;; Memory for what the host returns to this module: only random bytes.
  (func (export "cabi_import_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (if (i32.gt_u (local.get $size) (global.get $room)) (then unreachable))
    (global.get $target))

  ;; One subscription to the clock, which is what Go sleeps with. There is nothing to sleep on,
  ;; so it looks at the clock until it is time.
  (func (export "poll_oneoff") (param $in i32) (param $event i32) (param $n i32) (param $to i32) (result i32)
    (local $until i64)
    (if (i32.or (i32.eqz (local.get $n)) (i32.load8_u offset=8 (local.get $in))) (then (return (i32.const 58)))) ;; ENOTSUP
    (drop (call $clock (i32.const 1) (i64.const 0) (local.get $event)))
    (local.set $until (i64.load offset=24 (local.get $in)))
    (if (i32.eqz (i32.and (i32.load16_u offset=40 (local.get $in)) (i32.const 1))) ;; relative
      (then (local.set $until (i64.add (local.get $until) (i64.load (local.get $event))))))
    (if (global.get $quiet)
      (then (global.set $last (local.get $until)))
      (else
        (loop $wait
          (drop (call $clock (i32.const 1) (i64.const 0) (local.get $event)))
          (br_if $wait (i64.lt_u (i64.load (local.get $event)) (local.get $until))))))
    (i64.store (local.get $event) (i64.load (local.get $in))) ;; the caller's mark
    (i64.store offset=8 (local.get $event) (i64.const 0)) ;; no error, of the clock
    (i64.store offset=16 (local.get $event) (i64.const 0))
    (i64.store offset=24 (local.get $event) (i64.const 0))
    (i32.store (local.get $to) (i32.const 1))
    (i32.const 0))

  ;; --- Standard output and standard error ---

  (func (export "fd_write") (param $fd i32) (param $iov i32) (param $n i32) (param $to i32) (result i32)
    (local $p i32) (local $end i32) (local $sum i32)
    (if (i32.gt_u (i32.sub (local.get $fd) (i32.const 1)) (i32.const 1)) (then (return (i32.const 8)))) ;; EBADF
    (block $done
      (loop $part
        (br_if $done (i32.eqz (local.get $n)))
        (local.set $p (i32.load (local.get $iov)))
        (local.set $end (i32.add (local.get $p) (i32.load offset=4 (local.get $iov))))
        (local.set $sum (i32.add (local.get $sum) (i32.load offset=4 (local.get $iov))))
        (block $next
          (loop $byte
            (br_if $next (i32.ge_u (local.get $p) (local.get $end)))
            (if (i32.eq (local.get $fd) (i32.const 1))
              (then (call $put_out (i32.load8_u (local.get $p))))
              (else (call $put_err (i32.load8_u (local.get $p)))))
            (local.set $p (i32.add (local.get $p) (i32.const 1)))
            (br $byte)))
        (local.set $iov (i32.add (local.get $iov) (i32.const 8)))
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (br $part)))
    (i32.store (local.get $to) (local.get $sum))
    (i32.const 0))

  ;; Only os.Exit comes here: when Go gives up in a module that is called from outside, it ends
  ;; by a trap of its own, so everything it says must go out at once.
  (func (export "proc_exit") (param $code i32)
    (call $flush_out)
    (call $flush_err)
    unreachable)

  (func $put_out (param $byte i32)
    (if (i32.and (i32.eq (local.get $byte) (i32.const 10)) (i32.eqz (global.get $quiet)))
      (then (call $flush_out) (return)))
    (if (i32.ge_u (global.get $out) (i32.const 4032)) (then (return))) ;; a line is cut
    (i32.store8 offset=4160 (global.get $out) (local.get $byte))
    (global.set $out (i32.add (global.get $out) (i32.const 1))))

  (func $put_err (param $byte i32)
    (if (i32.and (i32.eq (local.get $byte) (i32.const 10)) (i32.eqz (global.get $quiet)))
      (then (call $end_of_line) (return)))
    (call $append (local.get $byte)))

  (func $append (param $byte i32)
    (if (i32.ge_u (global.get $err) (i32.const 4096)) (then (return)))
    (i32.store8 offset=8192 (global.get $err) (local.get $byte))
    (global.set $err (i32.add (global.get $err) (i32.const 1))))

  ;; What is written to standard error is a warning, a line by itself. From the line on with
  ;; which Go's runtime begins to say why it gives up, it is an error, and the two lines of each
  ;; frame of the stack, of which the second begins with a tab, are one. The host keeps the
  ;; first error of a call and the last seven: so there are no more frames than that.
  (func $end_of_line
    (if (call $fatal)
      (then
        (global.set $frames (i32.const 7))
        (call $say_err (i32.const 4)))
      (else (if (i32.eqz (global.get $frames))
        (then (call $say_err (i32.const 3)))
        (else
          (if (i32.eqz (global.get $err)) (then (return)))
          (if (i32.eq (i32.load8_u offset=8192 (global.get $line)) (i32.const 9))
            (then
              (i32.store8 offset=8192 (global.get $line) (i32.const 32))
              (if (i32.gt_u (global.get $frames) (i32.const 1))
                (then (call $say_err (i32.const 4)) (global.set $frames (i32.sub (global.get $frames) (i32.const 1))))
                (else (global.set $err (i32.const 0)))))
            (else (call $append (i32.const 32))))))))
    (global.set $line (global.get $err)))

  ;; Does standard error begin with "panic: ", "fatal er(ror)" or "runtime:"?
  (func $fatal (result i32)
    (local $head i64)
    (if (i32.or (i32.lt_u (global.get $err) (i32.const 8)) (global.get $frames)) (then (return (i32.const 0))))
    (local.set $head (i64.load (i32.const 8192)))
    (i32.or
      (i64.eq (i64.and (local.get $head) (i64.const 0x00ffffffffffffff)) (i64.const 9071397899755888))
      (i32.or
        (i64.eq (local.get $head) (i64.const 8243030342835134822))
        (i64.eq (local.get $head) (i64.const 4207889726539986290)))))

  (func $flush_out
    (if (i32.or (global.get $quiet) (i32.eqz (global.get $out))) (then (return)))
    (i64.store (i32.const 4136) (i64.const 128047728850035)) ;; "stdout"
    (call $say (i32.const 2) (i32.const 4160) (global.get $out) (i32.const 4136))
    (global.set $out (i32.const 0)))

  (func $flush_err
    (call $say_err (select (i32.const 4) (i32.const 3) (global.get $frames)))
    (global.set $frames (i32.const 0)))

  (func $say_err (param $level i32)
    (if (i32.or (global.get $quiet) (i32.eqz (global.get $err))) (then (return)))
    (i64.store (i32.const 4144) (i64.const 125835652920435)) ;; "stderr"
    (call $say (local.get $level) (i32.const 8192) (global.get $err) (i32.const 4144))
    (global.set $err (i32.const 0))
    (global.set $line (i32.const 0)))

  ;; A line with the field "stream", whose value has six bytes.
  (func $say (param $level i32) (param $p i32) (param $n i32) (param $stream i32)
    (i64.store (i32.const 4128) (i64.const 120265081255027)) ;; "stream"
    (i32.store (i32.const 4112) (i32.const 4128))
    (i32.store (i32.const 4116) (i32.const 6))
    (i32.store (i32.const 4120) (local.get $stream))
    (i32.store (i32.const 4124) (i32.const 6))
    (call $clean (local.get $p) (local.get $n))
    (call $emit (local.get $level) (local.get $p) (local.get $n) (i32.const 4112) (i32.const 1)))

  ;; Makes UTF-8 of bytes that may be none: the host refuses anything else. What does not belong
  ;; there becomes a question mark.
  (func $clean (param $p i32) (param $n i32)
    (local $end i32) (local $b i32) (local $k i32) (local $low i32) (local $high i32)
    (local.set $end (i32.add (local.get $p) (local.get $n)))
    (loop $next
      (if (i32.ge_u (local.get $p) (local.get $end)) (then (return)))
      (local.set $b (i32.load8_u (local.get $p)))
      ;; $k: bytes that follow. $low and $high: what the first of them may be.
      (local.set $k (i32.const 0))
      (local.set $low (i32.const 0x80))
      (local.set $high (i32.const 0xbf))
      (if (i32.ge_u (local.get $b) (i32.const 0xc2)) (then (local.set $k (i32.const 1))))
      (if (i32.ge_u (local.get $b) (i32.const 0xe0)) (then (local.set $k (i32.const 2))))
      (if (i32.ge_u (local.get $b) (i32.const 0xf0)) (then (local.set $k (i32.const 3))))
      (if (i32.eq (local.get $b) (i32.const 0xe0)) (then (local.set $low (i32.const 0xa0))))
      (if (i32.eq (local.get $b) (i32.const 0xed)) (then (local.set $high (i32.const 0x9f))))
      (if (i32.eq (local.get $b) (i32.const 0xf0)) (then (local.set $low (i32.const 0x90))))
      (if (i32.eq (local.get $b) (i32.const 0xf4)) (then (local.set $high (i32.const 0x8f))))
      (block $bad
        (br_if $bad (i32.and (i32.ge_u (local.get $b) (i32.const 0x80)) (i32.eqz (local.get $k))))
        (br_if $bad (i32.gt_u (local.get $b) (i32.const 0xf4)))
        (br_if $bad (i32.ge_u (i32.add (local.get $p) (local.get $k)) (local.get $end)))
        (if (local.get $k)
          (then
            (local.set $b (i32.load8_u offset=1 (local.get $p)))
            (br_if $bad (i32.lt_u (local.get $b) (local.get $low)))
            (br_if $bad (i32.gt_u (local.get $b) (local.get $high)))
            (if (i32.ge_u (local.get $k) (i32.const 2))
              (then (br_if $bad (i32.ne (i32.and (i32.load8_u offset=2 (local.get $p)) (i32.const 0xc0)) (i32.const 0x80)))))
            (if (i32.eq (local.get $k) (i32.const 3))
              (then (br_if $bad (i32.ne (i32.and (i32.load8_u offset=3 (local.get $p)) (i32.const 0xc0)) (i32.const 0x80)))))))
        (local.set $p (i32.add (local.get $p) (i32.add (local.get $k) (i32.const 1))))
        (br $next))
      (i32.store8 (local.get $p) (i32.const 63))
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      (br $next)))

  ;; --- What is not there ---

  (func (export "args_sizes_get") (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 0)) (i32.store (local.get $bytes) (i32.const 0)) (i32.const 0))
  (func (export "args_get") (param i32 i32) (result i32) (i32.const 0))
  (func (export "environ_sizes_get") (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 0)) (i32.store (local.get $bytes) (i32.const 0)) (i32.const 0))
  (func (export "environ_get") (param i32 i32) (result i32) (i32.const 0))
  (func (export "sched_yield") (result i32) (i32.const 0))
  (func (export "fd_read") (param i32 i32 i32) (param $to i32) (result i32)
    (i32.store (local.get $to) (i32.const 0)) (i32.const 0))
  (func (export "fd_close") (param i32) (result i32) (i32.const 0))
  (func (export "fd_fdstat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_fdstat_set_flags") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_prestat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) (i32.const 8))
)
