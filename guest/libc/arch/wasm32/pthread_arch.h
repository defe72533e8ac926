hidden extern uintptr_t __cay_thread_pointer;
static inline uintptr_t __get_tp(void) { return __cay_thread_pointer; }

#define MC_PC __pc
