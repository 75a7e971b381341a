/** A set of listeners that are told the same. */
export function createListeners<Told extends readonly unknown[]>() {
  const listeners = new Set<(...told: Told) => void>();
  return {
    tell: (...told: Told) => {
      for (const listener of listeners) listener(...told);
    },
    watch: (listener: (...told: Told) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Listeners that each wait for one id. */
export function createListenersById() {
  const listenersById = new Map<string, Set<() => void>>();
  return {
    tell: (id: string) => {
      for (const listener of listenersById.get(id) ?? []) listener();
    },
    watch: (id: string, listener: () => void) => {
      const listeners = listenersById.get(id) ?? new Set();
      listenersById.set(id, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) listenersById.delete(id);
      };
    },
  };
}
