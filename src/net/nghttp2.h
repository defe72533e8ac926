/* nghttp2.h - libnghttp2, found when the first relay needs it, as openssl.h finds OpenSSL: nothing links it. Without it
 * servers are spoken to in HTTP/1.1.
 *
 * Only h2.c and this know it. */
#pragma once

#include "base/defs.h"

#include <nghttp2/nghttp2.h>

#define NET_NGHTTP2_FUNCTIONS(F)                                                                             \
  F(nghttp2_option_del)                                                                                      \
  F(nghttp2_option_new)                                                                                      \
  F(nghttp2_option_set_max_send_header_block_length)                                                         \
  F(nghttp2_session_callbacks_del)                                                                           \
  F(nghttp2_session_callbacks_new)                                                                           \
  F(nghttp2_session_callbacks_set_on_begin_headers_callback)                                                 \
  F(nghttp2_session_callbacks_set_on_data_chunk_recv_callback)                                               \
  F(nghttp2_session_callbacks_set_on_frame_recv_callback)                                                    \
  F(nghttp2_session_callbacks_set_on_header_callback)                                                        \
  F(nghttp2_session_callbacks_set_on_stream_close_callback)                                                  \
  F(nghttp2_session_check_request_allowed)                                                                   \
  F(nghttp2_session_client_new3)                                                                             \
  F(nghttp2_session_del)                                                                                     \
  F(nghttp2_session_mem_recv)                                                                                \
  F(nghttp2_session_mem_send)                                                                                \
  F(nghttp2_session_resume_data)                                                                             \
  F(nghttp2_session_set_local_window_size)                                                                   \
  F(nghttp2_session_want_read)                                                                               \
  F(nghttp2_session_want_write)                                                                              \
  F(nghttp2_submit_request)                                                                                  \
  F(nghttp2_submit_settings)

typedef struct net_nghttp2 {
#define NET_NGHTTP2_MEMBER(name) __typeof__(name) *name;
  NET_NGHTTP2_FUNCTIONS(NET_NGHTTP2_MEMBER)
#undef NET_NGHTTP2_MEMBER
} net_nghttp2;

const net_nghttp2 *net_nghttp2_load(void); /* static; NULL: it is not there */
