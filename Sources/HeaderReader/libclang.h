#ifndef OUTRIDER_LIBCLANG_H
#define OUTRIDER_LIBCLANG_H

/* What is used of libclang's stable ABI (clang-c/Index.h), so that its development package isn't needed to build. */

typedef struct { const void *data; unsigned flags; } clang_string;
typedef struct { int kind; int data; const void *places[3]; } clang_cursor;
typedef struct { int kind; void *places[2]; } clang_type;
struct clang_unsaved { const char *name; const char *content; unsigned long length; };

typedef int (*clang_visitor)(clang_cursor, clang_cursor, void *);
typedef int (*clang_field_visitor)(clang_cursor, void *);
enum { clang_break = 0, clang_continue = 1, clang_continue_fields = 1 };

enum { cursor_struct = 2, cursor_union = 3, cursor_enum = 5, cursor_enumerator = 7, cursor_function = 8, cursor_parameter = 10 };

enum {
  type_void = 2, type_bool = 3, type_char_u = 4, type_uchar = 5, type_char32 = 7, type_ushort = 8, type_ulonglong = 11,
  type_uint128 = 12, type_char_s = 13, type_schar = 14, type_wchar = 15, type_short = 16, type_longlong = 19, type_int128 = 20,
  type_float = 21, type_double = 22, type_longdouble = 23, type_pointer = 101, type_record = 105, type_enum = 106,
  type_typedef = 107, type_function_bare = 110, type_function = 111, type_array = 112, type_array_open = 114, type_array_variable = 115,
  type_elaborated = 119, type_attributed = 163, type_atomic = 177
};

#define CLANG_FUNCTIONS(f) \
  f(void *, createIndex, (int, int)) \
  f(int, parseTranslationUnit2, \
    (void *, const char *, const char *const *, int, struct clang_unsaved *, unsigned, unsigned, void **)) \
  f(clang_cursor, getTranslationUnitCursor, (void *)) \
  f(unsigned, visitChildren, (clang_cursor, clang_visitor, void *)) \
  f(unsigned, Type_visitFields, (clang_type, clang_field_visitor, void *)) \
  f(clang_string, getCursorSpelling, (clang_cursor)) \
  f(clang_string, Cursor_getMangling, (clang_cursor)) \
  f(clang_type, getCursorType, (clang_cursor)) \
  f(unsigned, isCursorDefinition, (clang_cursor)) \
  f(const char *, getCString, (clang_string)) \
  f(void, disposeString, (clang_string)) \
  f(clang_type, getResultType, (clang_type)) \
  f(int, getFunctionTypeCallingConv, (clang_type)) \
  f(int, getNumArgTypes, (clang_type)) \
  f(clang_type, getArgType, (clang_type, unsigned)) \
  f(unsigned, isFunctionTypeVariadic, (clang_type)) \
  f(clang_cursor, Cursor_getArgument, (clang_cursor, unsigned)) \
  f(clang_type, getPointeeType, (clang_type)) \
  f(unsigned, isConstQualifiedType, (clang_type)) \
  f(clang_cursor, getTypeDeclaration, (clang_type)) \
  f(clang_type, getTypedefDeclUnderlyingType, (clang_cursor)) \
  f(clang_string, getTypeSpelling, (clang_type)) \
  f(clang_type, getCanonicalType, (clang_type)) \
  f(long long, Type_getSizeOf, (clang_type)) \
  f(long long, Type_getAlignOf, (clang_type)) \
  f(clang_type, Type_getNamedType, (clang_type)) \
  f(clang_type, Type_getModifiedType, (clang_type)) \
  f(clang_type, Type_getValueType, (clang_type)) \
  f(clang_type, getArrayElementType, (clang_type)) \
  f(long long, getArraySize, (clang_type)) \
  f(clang_type, getEnumDeclIntegerType, (clang_cursor)) \
  f(long long, getEnumConstantDeclValue, (clang_cursor)) \
  f(long long, Cursor_getOffsetOfField, (clang_cursor)) \
  f(unsigned, Cursor_isBitField, (clang_cursor)) \
  f(unsigned, getNumDiagnostics, (void *)) \
  f(void *, getDiagnostic, (void *, unsigned)) \
  f(int, getDiagnosticSeverity, (void *)) \
  f(clang_string, formatDiagnostic, (void *, unsigned)) \
  f(unsigned, defaultDiagnosticDisplayOptions, (void))

#endif
