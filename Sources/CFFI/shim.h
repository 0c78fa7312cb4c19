#include <ffi.h>

// libffi publishes its types as mutable globals, which Swift 6 refuses to read; these accessors only hand out addresses.
static inline ffi_type *ol_ffi_void(void) { return &ffi_type_void; }
static inline ffi_type *ol_ffi_u8(void) { return &ffi_type_uint8; }
static inline ffi_type *ol_ffi_i8(void) { return &ffi_type_sint8; }
static inline ffi_type *ol_ffi_u16(void) { return &ffi_type_uint16; }
static inline ffi_type *ol_ffi_i16(void) { return &ffi_type_sint16; }
static inline ffi_type *ol_ffi_u32(void) { return &ffi_type_uint32; }
static inline ffi_type *ol_ffi_i32(void) { return &ffi_type_sint32; }
static inline ffi_type *ol_ffi_u64(void) { return &ffi_type_uint64; }
static inline ffi_type *ol_ffi_i64(void) { return &ffi_type_sint64; }
static inline ffi_type *ol_ffi_f32(void) { return &ffi_type_float; }
static inline ffi_type *ol_ffi_f64(void) { return &ffi_type_double; }
static inline ffi_type *ol_ffi_pointer(void) { return &ffi_type_pointer; }
