import type { ReactNode } from "react";
import { Suspense } from "react";
import { AdminGate } from "./admin-gate.tsx";

export default function AdminLayout({ children }: { readonly children: ReactNode }) {
  return (
    <AdminGate>
      <Suspense>{children}</Suspense>
    </AdminGate>
  );
}
