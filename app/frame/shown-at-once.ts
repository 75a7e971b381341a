/**
 * Shows what a page streams later in the next frame. React keeps the time of its last showing in a global name and waits until 300 ms
 * after it, so that several parts come together; a page of the studio has one such part, and its pictures would wait for nothing.
 */
export const shownAtOnceScript = 'Object.defineProperty(self,"$RT",{get(){},set(){}});';
