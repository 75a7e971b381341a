import { type ReactNode, Suspense } from "react";
import { AdminGate } from "./live.tsx";
import { Words } from "../parts/words.tsx";

/** Every admin page reads the URL (`useSearchParams`), so Next requires the Suspense boundary. */
export default function AdminLayout({ children }: { readonly children: ReactNode }) {
  return (
    <Words of="app/admin/layout.tsx">
      <AdminGate>
        <Suspense>{children}</Suspense>
      </AdminGate>
    </Words>
  );
}
