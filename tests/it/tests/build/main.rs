//! `wharf build` as a plugin's author types it: the real binary, real toolchains, real plugins
//! in scratch folders. What is wrong gets one clear error with the fix; a second build needs no
//! network; and the same source gives the same bytes where that is promised.

mod again;
mod bad_input;
mod offline;
mod support;
mod toolchains;
