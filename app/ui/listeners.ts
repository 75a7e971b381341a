/** Who wants to hear of a change: `watch` adds one and returns how to remove it, as `useSyncExternalStore` asks for. */
export function createListeners<Args extends readonly unknown[] = []>() {
  const listeners = new Set<(...args: Args) => void>();
  return {
    notify: (...args: Args): void => {
      for (const listener of listeners) listener(...args);
    },
    watch: (listener: (...args: Args) => void): (() => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
