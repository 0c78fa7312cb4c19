#include "header_reader.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libclang.h"

/* The description is a list of lines, in prefix notation: what a line begins says how many follow. Bounded, as its reader is. */
enum { longest_description = 16 << 20, longest_word = 400, deepest_type = 24, most_arguments = 256, most_diagnostics = 20 };

#define DECLARE(result, name, arguments) static result (*clang_##name) arguments;
CLANG_FUNCTIONS(DECLARE)

static char *description;
static size_t description_length, description_room;
static bool is_too_long;
static char problem[1024];

static int64_t fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(problem, sizeof problem, format, list);
  va_end(list);
  return -1;
}

const char *outrider_header_problem(void) { return problem; }

static void word(const char *text) {
  /* An assembler's name that stands as it is. */
  if (text && *text == 1) text++;
  size_t length = text ? strlen(text) : 0;
  if (length > longest_word) length = longest_word;
  if (is_too_long || description_length + length + 1 > longest_description) {
    is_too_long = true;
    return;
  }
  if (description_length + length + 1 > description_room) {
    size_t room = (description_room + length + 4096) * 2;
    char *larger = realloc(description, room);
    if (!larger) {
      is_too_long = true;
      return;
    }
    description = larger;
    description_room = room;
  }
  for (size_t i = 0; i < length; i++) description[description_length++] = text[i] == '\n' ? ' ' : text[i];
  description[description_length++] = '\n';
}

static void number(long long value) {
  char text[24];
  snprintf(text, sizeof text, "%lld", value);
  word(text);
}

static void string(clang_string text) {
  word(clang_getCString(text));
  clang_disposeString(text);
}

/* Of a type whose qualifiers are written already. */
static void bare_spelling(clang_type type) {
  clang_string text = clang_getTypeSpelling(type);
  const char *start = clang_getCString(text);
  static const char *const qualifiers[] = {"const ", "volatile "};
  for (int i = 0; start && i < 4; i++) {
    size_t length = strlen(qualifiers[i % 2]);
    if (!strncmp(start, qualifiers[i % 2], length)) start += length;
  }
  word(start);
  clang_disposeString(text);
}

/* As DWARF numbers what a base type's bits mean (DW_ATE); 0: none of them. */
static int encoding(clang_type type) {
  switch (type.kind) {
    case type_bool: return 2;
    case type_char_u: return 8;
    case type_char_s: case type_schar: return 6;
    case type_uchar: return 8;
    case type_float: case type_double: case type_longdouble: return 4;
    case type_wchar: return 5;
    default: break;
  }
  if (type.kind > type_uchar && type.kind <= type_uint128) return 7;
  if (type.kind >= type_short && type.kind <= type_int128) return 5;
  return 0;
}

static void write_type(clang_type type, bool is_parameter, int depth);

/* What the type is of that is being written, a parameter or a typedef: a function type's own parameters are named below it. */
static const clang_cursor *declarator;
/* One that is within another isn't looked into: that could take more and more room. */
static bool is_within_function;

struct names {
  clang_cursor list[most_arguments];
  int count;
};

static int add_name(clang_cursor cursor, clang_cursor parent, void *data) {
  (void)parent;
  struct names *names = data;
  if (cursor.kind != cursor_parameter) return clang_continue;
  if (names->count < most_arguments) names->list[names->count] = cursor;
  names->count++;
  return clang_continue;
}

/* How it is spelled, and what it takes where that is known and it is called as functions of C are. */
static void write_function_type(clang_type type, int depth) {
  static struct names names;
  int count = clang_getNumArgTypes(type);
  string(clang_getTypeSpelling(type));
  if (is_within_function || type.kind == type_function_bare || clang_getFunctionTypeCallingConv(type) > 1 || count < 0
      || count > most_arguments)
    return number(0);
  names.count = 0;
  if (declarator) clang_visitChildren(*declarator, add_name, &names);
  is_within_function = true;
  number(1);
  number(clang_isFunctionTypeVariadic(type));
  write_type(clang_getResultType(type), false, depth + 1);
  number(count);
  for (int i = 0; i < count; i++) {
    if (names.count == count)
      string(clang_getCursorSpelling(names.list[i]));
    else
      word("");
    write_type(clang_getArgType(type, i), true, depth + 1);
  }
  is_within_function = false;
}

static void write_integer(clang_type type) {
  number(clang_Type_getSizeOf(type));
  number(encoding(clang_getCanonicalType(type)) == 5 || encoding(clang_getCanonicalType(type)) == 6);
}

static void write_bare_type(clang_type type, bool is_parameter, int depth) {
  int meaning = encoding(type);
  if (meaning) {
    word("base");
    number(clang_Type_getSizeOf(type));
    number(meaning);
    return bare_spelling(type);
  }
  switch (type.kind) {
    case type_void: return word("void");
    case type_pointer:
      word("pointer");
      return write_type(clang_getPointeeType(type), false, depth + 1);
    case type_typedef: {
      clang_cursor declaration = clang_getTypeDeclaration(type);
      word("typedef");
      string(clang_getCursorSpelling(declaration));
      const clang_cursor *former = declarator;
      declarator = &declaration;
      write_type(clang_getTypedefDeclUnderlyingType(declaration), is_parameter, depth + 1);
      declarator = former;
      return;
    }
    case type_elaborated: return write_type(clang_Type_getNamedType(type), is_parameter, depth + 1);
    case type_attributed: return write_type(clang_Type_getModifiedType(type), is_parameter, depth + 1);
    case type_atomic: return write_type(clang_Type_getValueType(type), is_parameter, depth + 1);
    case type_enum:
      word("enum");
      bare_spelling(type);
      return write_integer(clang_getEnumDeclIntegerType(clang_getTypeDeclaration(type)));
    case type_record:
      word("record");
      bare_spelling(type);
      /* Nothing says how large one is that is declared alone. */
      return number(clang_Type_getSizeOf(type));
    case type_function: case type_function_bare:
      /* An argument of this type is the function's address. */
      if (is_parameter) word("pointer");
      word("function");
      return write_function_type(type, depth);
    case type_array: case type_array_open: case type_array_variable:
      /* As an argument it is an address, of so many elements. */
      word("array");
      number(type.kind == type_array ? clang_getArraySize(type) : 0);
      return write_type(clang_getArrayElementType(type), false, depth + 1);
    default:
      word("other");
      return string(clang_getTypeSpelling(type));
  }
}

static void write_type(clang_type type, bool is_parameter, int depth) {
  if (is_too_long) return;
  if (depth > deepest_type) {
    word("other");
    return word("?");
  }
  /* libclang shows some types only by what they stand for. */
  if (type.kind == 1) type = clang_getCanonicalType(type);
  bool is_array = type.kind >= type_array && type.kind <= type_array_variable;
  if (clang_isConstQualifiedType(type) && !(is_parameter && is_array)) word("const");
  write_bare_type(type, is_parameter, depth);
}

static void write_function(clang_cursor cursor) {
  clang_type type = clang_getCursorType(cursor);
  /* CXCallingConv_Default and _C. */
  bool is_usual = clang_getFunctionTypeCallingConv(clang_getCanonicalType(type)) <= 1;
  while (type.kind == type_attributed) type = clang_Type_getModifiedType(type);
  int count = clang_getNumArgTypes(type);
  if (count < 0 || count > most_arguments) return;
  word("function");
  string(clang_getCursorSpelling(cursor));
  string(clang_Cursor_getMangling(cursor));
  number(clang_isFunctionTypeVariadic(type) && type.kind != type_function_bare);
  number(type.kind == type_function_bare);
  number(is_usual);
  write_type(clang_getResultType(type), false, 0);
  number(count);
  for (int i = 0; i < count; i++) {
    clang_cursor parameter = clang_Cursor_getArgument(cursor, i);
    string(clang_getCursorSpelling(parameter));
    declarator = &parameter;
    write_type(clang_getArgType(type, i), true, 0);
    declarator = NULL;
  }
}

static int count_child(clang_cursor cursor, clang_cursor parent, void *data) {
  (void)parent;
  int *wanted = data;
  if (cursor.kind == wanted[0]) wanted[1]++;
  return clang_continue;
}

static long long children(clang_cursor cursor, int kind) {
  int wanted[2] = {kind, 0};
  clang_visitChildren(cursor, count_child, wanted);
  return wanted[1];
}

static int write_enumerator(clang_cursor cursor, clang_cursor parent, void *data) {
  (void)parent;
  (void)data;
  if (cursor.kind != cursor_enumerator) return clang_continue;
  string(clang_getCursorSpelling(cursor));
  number(clang_getEnumConstantDeclValue(cursor));
  return clang_continue;
}

/* Those without a name as well: an anonymous union is one. */
static int count_field(clang_cursor cursor, void *data) {
  (void)cursor;
  (*(long long *)data)++;
  return clang_continue_fields;
}

static int write_field(clang_cursor cursor, void *data) {
  (void)data;
  clang_string name = clang_getCursorSpelling(cursor);
  const char *text = clang_getCString(name);
  int letter = text ? *text | 0x20 : 0;
  bool is_name = text && (*text == '_' || (letter >= 'a' && letter <= 'z') || *text & 0x80);
  word(is_name ? text : "");
  clang_disposeString(name);
  number(clang_Cursor_getOffsetOfField(cursor));
  number(clang_Cursor_isBitField(cursor) != 0);
  write_type(clang_getCursorType(cursor), false, 0);
  return clang_continue_fields;
}

static int visit(clang_cursor cursor, clang_cursor parent, void *data) {
  (void)parent;
  (void)data;
  switch (cursor.kind) {
    case cursor_function: write_function(cursor); break;
    case cursor_enum:
      if (!clang_isCursorDefinition(cursor)) break;
      word("enum");
      string(clang_getTypeSpelling(clang_getCursorType(cursor)));
      write_integer(clang_getEnumDeclIntegerType(cursor));
      number(children(cursor, cursor_enumerator));
      clang_visitChildren(cursor, write_enumerator, NULL);
      break;
    case cursor_struct: case cursor_union: {
      if (!clang_isCursorDefinition(cursor)) break;
      word(cursor.kind == cursor_struct ? "struct" : "union");
      string(clang_getTypeSpelling(clang_getCursorType(cursor)));
      number(clang_Type_getSizeOf(clang_getCursorType(cursor)));
      number(clang_Type_getAlignOf(clang_getCursorType(cursor)));
      long long fields = 0;
      clang_Type_visitFields(clang_getCursorType(cursor), count_field, &fields);
      number(fields);
      clang_Type_visitFields(clang_getCursorType(cursor), write_field, NULL);
      break;
    }
    default: break;
  }
  return is_too_long ? clang_break : clang_continue;
}

static int64_t load(const char *library) {
  static bool is_loaded;
  if (is_loaded) return 0;
  void *clang = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!clang) return fail("%s", dlerror());
#define FIND(result, name, arguments) \
  clang_##name = (result(*) arguments)dlsym(clang, "clang_" #name); \
  if (!clang_##name) return fail("%s has no clang_" #name, library);
  CLANG_FUNCTIONS(FIND)
  is_loaded = true;
  return 0;
}

static void write_diagnostics(void *unit) {
  unsigned count = clang_getNumDiagnostics(unit), written = 0;
  for (unsigned i = 0; i < count && written < most_diagnostics; i++) {
    void *diagnostic = clang_getDiagnostic(unit, i);
    /* Errors, and what ends the parse. */
    if (clang_getDiagnosticSeverity(diagnostic) < 3) continue;
    word("diagnostic");
    string(clang_formatDiagnostic(diagnostic, clang_defaultDiagnosticDisplayOptions()));
    written++;
  }
}

int64_t outrider_header_parse(const char *library, const char *arguments, const char *source) {
  description_length = 0;
  is_too_long = false;
  if (load(library)) return -1;
  /* No threads of its own, and a crash is the end of this process. */
  setenv("LIBCLANG_NOTHREADS", "1", 1);
  setenv("LIBCLANG_DISABLE_CRASH_RECOVERY", "1", 1);
  char *lines = strdup(arguments);
  const char *list[most_arguments];
  int count = 0;
  for (char *rest = NULL, *line = lines ? strtok_r(lines, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
    if (count == most_arguments) {
      free(lines);
      return fail("there are more than %d arguments", most_arguments);
    }
    list[count++] = line;
  }
  struct clang_unsaved file = {"/outrider-headers.c", source, strlen(source)};
  void *unit = NULL;
  /* Function bodies aren't looked at (CXTranslationUnit_SkipFunctionBodies). */
  int code = clang_parseTranslationUnit2(clang_createIndex(0, 0), file.name, list, count, &file, 1, 0x40, &unit);
  free(lines);
  if (code != 0 || !unit) return fail("libclang couldn't parse it (error %d)", code);
  word("outrider-headers 3");
  write_diagnostics(unit);
  clang_visitChildren(clang_getTranslationUnitCursor(unit), visit, NULL);
  word("end");
  if (is_too_long) return fail("its declarations have more than %d MiB", longest_description >> 20);
  return (int64_t)description_length;
}

int32_t outrider_header_copy(void *target, uint64_t length) {
  if (length > description_length) return -1;
  memcpy(target, description, length);
  return 0;
}
