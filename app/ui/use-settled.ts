"use client";
import { useEffect, useState } from "react";

/** A value once it has not changed for a while. */
export function useSettled<Value>(value: Value, quietMs: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), quietMs);
    return () => clearTimeout(timer);
  }, [quietMs, value]);
  return settled;
}
