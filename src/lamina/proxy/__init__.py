"""The endpoint that Lamina offers: any client of OpenAI's protocol, with a memory."""
