import { type ReactNode, Suspense } from "react";
import { AdminGate } from "./live.tsx";

/** Every admin page reads the URL (`useSearchParams`), so Next requires the Suspense boundary. */
export default function AdminLayout({ children }: { readonly children: ReactNode }) {
  return (
    <AdminGate>
      <Suspense>{children}</Suspense>
    </AdminGate>
  );
}
