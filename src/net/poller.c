/* poller.c - the event loop of the network thread: epoll events, deadlines, posted jobs (poller.h). */
#include "net/poller.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS = 64 };

/* ---- from other threads ---- */

/* With p->mu. The bell is rung once until the thread hears it. */
static void poller_ring(net_poller *p) {
  uint64_t one = 1;
  if (p->rung) return;
  p->rung = true;
  (void)!write(p->bell, &one, sizeof one); /* it cannot be full */
}

void net_poller_post(net_poller *p, net_job *job) {
  pthread_mutex_lock(&p->mu);
  list_push(&p->jobs, &job->node);
  poller_ring(p);
  pthread_mutex_unlock(&p->mu);
}

void net_poller_look(net_poller *p, net_item *item) {
  pthread_mutex_lock(&p->mu);
  if (!list_linked(&item->inbox)) list_push(&p->inbox, &item->inbox);
  poller_ring(p);
  pthread_mutex_unlock(&p->mu);
}

/* ---- items ---- */

void net_item_again(net_poller *p, net_item *item) {
  if (!list_linked(&item->ready)) list_push(&p->ready, &item->ready);
}

void net_item_add(net_poller *p, net_item *item, void (*run)(net_poller *, net_item *)) {
  list_push(&p->items, &item->all);
  item->run = run;
  item->due_ns = INT64_MAX;
}

void net_item_remove(net_poller *p, net_item *item) {
  list_remove(&item->all);
  list_remove(&item->ready);
  pthread_mutex_lock(&p->mu);
  list_remove(&item->inbox);
  pthread_mutex_unlock(&p->mu);
}

bool net_item_watch(net_poller *p, net_item *item, int fd) {
  struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = item };
  return epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

void net_item_due(net_poller *p, net_item *item, int64_t due_ns) {
  item->due_ns = due_ns;
  if (due_ns < p->next_due_ns) p->next_due_ns = due_ns;
}

/* ---- the thread ---- */

static int poller_timeout(const net_poller *p) {
  if (!list_empty(&p->ready)) return 0;
  if (p->next_due_ns == INT64_MAX) return -1;
  int64_t ms = (p->next_due_ns - clock_mono_ns() + NS_PER_MS - 1) / NS_PER_MS;
  return ms < 0 ? 0 : ms > 60000 ? 60000 : (int)ms;
}

static void poller_collect_events(net_poller *p) {
  struct epoll_event events[EVENTS];
  int n = epoll_wait(p->epoll, events, EVENTS, poller_timeout(p));
  for (int i = 0; i < n; i++) {
    net_item *item = events[i].data.ptr;
    if (item == NULL) continue; /* the bell */
    if ((events[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0) item->readable = true;
    if ((events[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) item->writable = true;
    net_item_again(p, item);
  }
}

/* The nearest moment may have been moved: then this looks in vain, once. */
static void poller_collect_due(net_poller *p) {
  p->now_ns = clock_mono_ns();
  if (p->now_ns < p->next_due_ns) return;
  p->next_due_ns = INT64_MAX;
  LIST_EACH (item, &p->items, net_item, all) {
    if (item->due_ns <= p->now_ns)
      net_item_again(p, item);
    else if (item->due_ns < p->next_due_ns)
      p->next_due_ns = item->due_ns;
  }
}

/* Moves all of `from` to the end of `to`. */
static void list_move_all(list *from, list *to) {
  while (!list_empty(from)) {
    list *node = from->next;
    list_remove(node);
    list_push(to, node);
  }
}

/* False: it is to stop. */
static bool poller_collect_messages(net_poller *p, list *jobs) {
  uint64_t rings;
  pthread_mutex_lock(&p->mu);
  if (p->rung) (void)!read(p->bell, &rings, sizeof rings);
  p->rung = false;
  list_move_all(&p->jobs, jobs);
  while (!list_empty(&p->inbox)) {
    net_item *item = CONTAINER_OF(p->inbox.next, net_item, inbox);
    list_remove(&item->inbox);
    net_item_again(p, item);
  }
  bool stop = p->stop;
  pthread_mutex_unlock(&p->mu);
  return !stop;
}

static void poller_run_ready(net_poller *p) {
  list round;
  list_init(&round);
  list_move_all(&p->ready, &round);
  while (!list_empty(&round)) {
    net_item *item = CONTAINER_OF(round.next, net_item, ready);
    list_remove(&item->ready);
    item->run(p, item);
  }
}

static void poller_main(void *ctx) {
  net_poller *p = ctx;
  list jobs;
  list_init(&jobs);
  for (bool on = true; on;) {
    poller_collect_events(p);
    on = poller_collect_messages(p, &jobs);
    poller_collect_due(p);
    poller_run_ready(p); /* before the jobs: one that closes a box finds all its connections */
    while (!list_empty(&jobs)) {
      net_job *job = CONTAINER_OF(jobs.next, net_job, node);
      list_remove(&job->node);
      job->run(p, job);
    }
  }
}

/* ---- life ---- */

static void poller_free(net_poller *p) {
  if (p->epoll >= 0) (void)close(p->epoll);
  if (p->bell >= 0) (void)close(p->bell);
  pthread_mutex_destroy(&p->mu);
  mem_free(p->chunk);
  mem_free(p);
}

static net_poller *poller_new(void) {
  net_poller *p = mem_zalloc(sizeof *p);
  if (p == NULL) return NULL;
  pthread_mutex_init(&p->mu, NULL);
  list_init(&p->inbox);
  list_init(&p->jobs);
  list_init(&p->items);
  list_init(&p->ready);
  list_init(&p->lookups);
  p->next_due_ns = INT64_MAX;
  p->epoll = epoll_create1(EPOLL_CLOEXEC);
  p->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  p->chunk = mem_alloc(NET_CHUNK);
  struct epoll_event bell = { .events = EPOLLIN };
  bool fine = p->epoll >= 0 && p->bell >= 0 && p->chunk != NULL &&
              epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->bell, &bell) == 0 &&
              thread_start("cay-net", 256 << 10, poller_main, p, &p->thread, NULL) == CAY_OK;
  if (fine) return p;
  poller_free(p);
  return NULL;
}

net_poller *net_host_poller(net_host *host) {
  pthread_mutex_lock(&host->mu);
  if (host->poller == NULL) host->poller = poller_new();
  net_poller *p = host->poller;
  pthread_mutex_unlock(&host->mu);
  return p;
}

cay_status net_host_new(const net_host_options *options, net_host **out, cay_error *err) {
  net_host *h = mem_zalloc(sizeof *h);
  if (h == NULL) return err_no_memory(err);
  h->options = *options;
  pthread_mutex_init(&h->mu, NULL);
  cancel_init(&h->stop);
  *out = h;
  return CAY_OK;
}

static void poller_stop(net_poller *p) {
  pthread_mutex_lock(&p->mu);
  p->stop = true;
  poller_ring(p);
  pthread_mutex_unlock(&p->mu);
  thread_join(p->thread);
  poller_free(p);
}

/* Lookups first: they post their results. */
void net_host_free(net_host *h) {
  if (h == NULL) return;
  cancel_raise(&h->stop);
  thread_pool_free(h->lookups);
  if (h->poller != NULL) poller_stop(h->poller);
  cancel_end(&h->stop);
  pthread_mutex_destroy(&h->mu);
  mem_free(h);
}
