//! Shows figures in the terminal of the reader, and gives the terminal back.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::figures::ScreenFigures;
use crate::view;

/// The longest wait for a key before new figures are looked for.
const TICK: Duration = Duration::from_millis(100);

/// Shows the newest of the figures until the reader presses `q`, `Esc` or `Ctrl-C`, or the sender is
/// gone. A panic gives the terminal back before it is told.
///
/// # Errors
/// If the terminal cannot be used.
pub fn run(first: ScreenFigures, updates: &Receiver<ScreenFigures>) -> io::Result<()> {
    // This also installs the hook that gives the terminal back in a panic.
    let mut terminal = ratatui::try_init()?;
    let shown = show(&mut terminal, first, updates);
    let restored = ratatui::try_restore();
    shown.and(restored)
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    first: ScreenFigures,
    updates: &Receiver<ScreenFigures>,
) -> io::Result<()> {
    let mut figures = first;
    let mut is_new = true;
    loop {
        if is_new {
            terminal.draw(|frame| view::draw(&figures, frame.area(), frame.buffer_mut()))?;
        }
        is_new = false;
        if event::poll(TICK)? {
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => {
                    let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
                    match key.code {
                        KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                        KeyCode::Char('c') if is_ctrl => return Ok(()),
                        _ => {}
                    }
                }
                Event::Resize(..) => is_new = true,
                _ => {}
            }
        }
        loop {
            match updates.try_recv() {
                Ok(newer) => {
                    figures = newer;
                    is_new = true;
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }
}
