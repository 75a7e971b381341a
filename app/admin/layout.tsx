import { type ReactNode, Suspense } from "react";
import { AdminGate } from "./live.tsx";

export default function AdminLayout({ children }: { readonly children: ReactNode }) {
  return (
    <AdminGate>
      <Suspense>{children}</Suspense>
    </AdminGate>
  );
}
