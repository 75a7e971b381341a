import { keptBy } from "../platform/index.ts";
import { findEnded } from "../accounts/plain.ts";
import type { Services } from "../services.ts";
import type { LiveSource, Mark } from "./source.ts";
import { createTopic, type Topic, type Watcher } from "./topic.ts";

/** One feed per process: reads each changed row once and sends it to all watchers of its owner. */
export interface Feed {
  /** Adds a watcher; the returned function removes it. Without watchers the feed sends no query. */
  add<View, Update>(source: LiveSource<View, Update>, watcher: Watcher<View, Update>): () => void;
  /** Call with rows that a watcher has just read: the feed then asks for their live updates. */
  noteRead(source: LiveSource<unknown, unknown>, marks: readonly Mark[]): void;
  /** The live updates of a row so far, for a new watcher. */
  lastLive<Update>(source: LiveSource<unknown, Update>, id: string): Update | null;
  /** Ends all watchers. */
  close(): void;
}

/** The feed of this process, opened on first use. */
export const feedOf: (services: Services) => Feed = keptBy(createFeed, (feed) => feed.close());

const pollMs = 1_000;

type Topics = ReadonlyMap<string, Topic<unknown, unknown>>;

function createFeed(services: Services): Feed {
  const topics = new Map<string, Topic<unknown, unknown>>();
  let feeding: Feeding | null = null;
  const isLiveHeard = () => feeding?.isLiveHeard() ?? false;
  const topicOf = <View, Update>(source: LiveSource<View, Update>): Topic<View, Update> => {
    // Safe: the topic of a name is only ever reached with the source of that name.
    const known = topics.get(source.name) as Topic<View, Update> | undefined;
    const topic = known ?? createTopic(services, source, isLiveHeard);
    topics.set(source.name, topic as Topic<unknown, unknown>);
    return topic;
  };
  return {
    add(source, watcher) {
      const topic = topicOf(source);
      topic.add(watcher);
      feeding ??= startFeeding(services, topics);
      feeding.fit();
      return () => {
        topic.remove(watcher);
        if (topic.isEmpty()) topic.clear();
        feeding?.fit();
        if (![...topics.values()].every((each) => each.isEmpty())) return;
        feeding?.stop();
        feeding = null;
      };
    },
    noteRead: (source, marks) => topicOf(source).noteRead(marks),
    lastLive: (source, id) => topicOf(source).lastLive(id),
    close() {
      for (const topic of topics.values()) topic.ownerIds().forEach((ownerId) => topic.end(ownerId));
      feeding?.stop();
      feeding = null;
    },
  };
}

function ownersOf(topics: Topics): readonly string[] {
  return [...new Set([...topics.values()].flatMap((topic) => topic.ownerIds()))];
}

interface Feeding {
  /** Call when watchers have come or gone: previews are heard only while one wants them. */
  fit(): void;
  /** Whether what is sent from now on arrives. */
  isLiveHeard(): boolean;
  stop(): void;
}

/** Subscribes to hints and polls. */
function startFeeding(services: Services, topics: Topics): Feeding {
  const { hints } = services;
  const closeHints = hints.subscribe((message) => {
    for (const topic of topics.values()) topic.onHint(message);
  });
  let closeLive: (() => void) | null = null;
  let isHeard = false;
  const openLive = () =>
    hints.subscribeLive(
      (message) => {
        for (const topic of topics.values()) topic.onLive(message);
      },
      () => {
        isHeard = true;
        for (const topic of topics.values()) topic.onLiveHeard();
      },
    );
  const poll = createPoll(services, topics);
  const timer = setInterval(() => void poll(), pollMs);
  timer.unref();
  const endLive = () => {
    closeLive?.();
    closeLive = null;
    isHeard = false;
  };
  return {
    fit() {
      if ([...topics.values()].some((topic) => topic.wantsLive())) closeLive ??= openLive();
      else endLive();
    },
    isLiveHeard: () => isHeard,
    stop() {
      clearInterval(timer);
      closeHints();
      endLive();
    },
  };
}

/** One poll at a time, however slow the database is; the next poll finds what a failed one missed. */
function createPoll(services: Services, topics: Topics): () => Promise<void> {
  let isPolling = false;
  return async () => {
    if (isPolling) return;
    isPolling = true;
    try {
      for (const ownerId of await findEnded(services, ownersOf(topics)))
        for (const topic of topics.values()) topic.end(ownerId);
      const polled = await Promise.allSettled([...topics.values()].map((topic) => topic.poll()));
      const failed = polled.find((each) => each.status === "rejected");
      if (failed) throw failed.reason;
    } catch (error) {
      services.log.warn({ err: error }, "poll of live changes failed");
    } finally {
      isPolling = false;
    }
  };
}
