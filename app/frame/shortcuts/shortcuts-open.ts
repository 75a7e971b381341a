type Listener = () => void;

let isOpen = false;
const listeners = new Set<Listener>();

/** Whether the dialog of shortcuts is open; a store, so that keys and buttons anywhere can open it. */
export const shortcutsOpen = {
  get: () => isOpen,
  set: (open: boolean) => {
    isOpen = open;
    for (const listener of listeners) listener();
  },
  watch: (listener: Listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};
