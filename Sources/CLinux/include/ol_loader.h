/* dlopen(3) and what it takes to trust a symbol. */
#ifndef OL_LOADER_H
#define OL_LOADER_H

/* dlopen with RTLD_NOW, and RTLD_LOCAL unless `global`; `deep` binds the library's own symbols first (RTLD_DEEPBIND). NULL
   on failure: ol_loader_message has the loader's own words. */
void *_Nullable ol_load(const char *_Nonnull path, int deep, int global);
const char *_Nonnull ol_loader_message(void);

/* A copy of a file in memory, from which it can be loaded once more. 0 or an errno value. */
int ol_copy_to_memory(const char *_Nonnull path, int *_Nonnull copy);

enum ol_symbol_kind { OL_SYMBOL_MISSING, OL_SYMBOL_DATA, OL_SYMBOL_FUNCTION, OL_SYMBOL_FUNCTION_ELSEWHERE };
/* Finds `name` in a library and those it needs, and says whether it is code and whether the library itself has it. */
enum ol_symbol_kind ol_symbol(void *_Nonnull library, const char *_Nonnull name, void *_Nullable *_Nonnull address);

/* Calls `visit` with the path of every loaded shared object. */
void ol_loaded_objects(void *_Nullable context, void (*_Nonnull visit)(void *_Nullable context, const char *_Nonnull path));

#endif
