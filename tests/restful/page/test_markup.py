"""What is looked at in pages is found where it is wrong."""

import pytest

from tests.restful.page.markup import wrong_with


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("<p><div></div></p>", "<div> is within <p>"),
        ("<ul><p>x</p></ul", "open at the end: ['ul']"),
        ("<div><span></div></span>", "</div> does not end what is open: ['div', 'span']"),
        ("<form action='/a'><form action='/b'></form></form>", "a form is within a form"),
        ("<form method='post' action='/a'></form>", "the form /a has no CSRF token"),
        ("<a href='/'><button>x</button></a>", "<button> is within ['a']"),
        ("<table><tr></tr></table>", "<tr> is within <table>"),
        ("<section><table><tbody></tbody></table></section>", "a table has no caption and no heading"),
        ("<table><thead><tr><th>x</th></tr></thead></table>", "a <th> has no scope"),
        ("<input name='a'>", "the field 'a' has no label"),
        ("<label for='b'>x</label>", "nothing has the id b"),
        ("<p id='a'></p><p id='a'></p>", "the id a is there twice"),
        ("<p style='color: red'></p>", "<p> has a style or a script"),
        ("<p onclick='x'></p>", "<p> has a style or a script"),
        ("<button></button>", "<button> has no text"),
        ("<p id='a' id='b'></p>", "<p> has an attribute twice"),
    ],
)
def test_what_is_wrong_is_found(text: str, wrong: str) -> None:
    assert wrong in wrong_with(text)


def test_what_is_right_is_right() -> None:
    text = (
        "<section><h2>x</h2><form method='post' action='/a'><input type='hidden' name='csrf' value='x'>"
        "<label for='a'>A</label><input id='a' name='a'><label><input type='checkbox' name='b'> B</label>"
        "</form><table><tbody><tr><th scope='row'>x</th><td>y</td></tr></tbody></table></section>"
    )
    assert wrong_with(text) == []
