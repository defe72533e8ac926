/* struct pthread lies right below the thread's variables. */
#define TLS_ABOVE_TP
#define GAP_ABOVE_TP 0
static inline uintptr_t __get_tp(void) { return (uintptr_t)__builtin_wasm_tls_base(); }

#define MC_PC __pc
