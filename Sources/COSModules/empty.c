/* The module map is all that there is. */
typedef int os_modules_are_empty;
