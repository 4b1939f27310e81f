static inline int in_header(int v) {
    return aesop_timer(v);
}
aesop int both(void);
