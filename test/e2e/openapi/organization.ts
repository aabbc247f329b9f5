/** What the paths of the management API name, and a person whom an example adds to a project. */
export async function prepareOrganization(origin: string, key: string): Promise<Record<string, string>> {
  const post = async (path: string, body: object): Promise<{ id: string }> => {
    const response = await fetch(`${origin}/v1/organization${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { id: string };
  };
  const project = (await post("/projects", { name: "Test" })).id;
  const invited = await post("/invites", { email: "ada@example.com", role: "reader" });
  return {
    project_id: project,
    key_id: (await post(`/projects/${project}/api_keys`, { name: "a key" })).id,
    service_account_id: (await post(`/projects/${project}/service_accounts`, { name: "job" })).id,
    user_id: invited.id.replace("invite_", ""),
    invite_id: invited.id,
    rate_limit_id: "all",
  };
}
